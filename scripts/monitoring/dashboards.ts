// From the list of panels to what Grafana imports.

import type { Board, Panel } from "./panels.ts";

/** Of the oldest Grafana (10) that the files are meant for. */
const schemaVersion = 38;
const columns = 24;
const statSize = { w: 6, h: 4 };
const graphSize = { w: 12, h: 8 };

/** Which Prometheus it reads is a variable of the dashboard. */
const datasource = { type: "prometheus", uid: "${datasource}" };

/** deploy/monitoring/dashboards/*.json */
export function dashboardJson(board: Board): string {
  const { uid, title, panels } = board;
  const dashboard = {
    uid,
    title,
    tags: ["posthorn"],
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    schemaVersion,
    time: { from: "now-6h", to: "now" },
    timezone: "browser",
    templating: {
      list: [
        { name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus", current: {} },
      ],
    },
    panels: placed(panels),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

/** From left to right, a new row when one is full or what follows is higher. */
function placed(panels: readonly Panel[]): readonly object[] {
  let [x, y, height] = [0, 0, 0];
  return panels.map((panel, index) => {
    const size = panel.kind === "stat" ? statSize : graphSize;
    if (x + size.w > columns || (height !== 0 && size.h !== height)) {
      x = 0;
      y += height;
    }
    height = size.h;
    const gridPos = { x, y, ...size };
    x += size.w;
    return panelJson(panel, index + 1, gridPos);
  });
}

function panelJson(panel: Panel, id: number, gridPos: object): object {
  const { title, says, kind, unit, queries } = panel;
  return {
    id,
    gridPos,
    type: kind,
    title,
    description: says,
    datasource,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}
