import { useSignal } from "@preact/signals";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { Sparkline } from "../../shared/charts/bars.tsx";
import { useApi } from "../../shared/queries.ts";
import type { ListedWebhook, Page, Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions } from "../../shared/shell-text.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { Command } from "../../shared/ui/as-api.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { SecretText } from "../../shared/ui/secret-text.tsx";
import { LinkButton, mayManage } from "../form/action-button.tsx";
import { EditPage, ResourceForm } from "../form/resource-form.tsx";
import { column } from "../lists/columns.tsx";
import { Chips, LinkedFilters, TextFilter } from "../lists/filters.tsx";
import { pageSize, ResourceList } from "../lists/list-page.tsx";
import { Trail, useRouteId } from "../shell/detail-page.tsx";
import { webhookFilterNames } from "../../shared/webhook-settings.ts";
import { typedWebhook, webhookFields } from "./webhook-fields.ts";
import { durationText, failedText, useCourses, WaitingText } from "./webhook-figures.tsx";
import { healthStates, healthWords, shortUrl, WebhookBadge, WebhookLink } from "./webhook-link.tsx";

type SortingBy = (order: string) => NonNullable<Column<ListedWebhook>["sorting"]>;

function columnsOf(
  courses: ReturnType<typeof useCourses>,
  sortingBy: SortingBy,
): readonly Column<ListedWebhook>[] {
  return [
    column.text("URL", (row) => <WebhookLink id={row.id} url={row.url} />),
    column.text("Health", (row) => <WebhookBadge webhook={row} />),
    column.text("Events", (row) => row.events.join(", "), "medium"),
    column.text("Tenant", (row) => row.tenant_id, "wide"),
    column.text("24 hours", (row) => <Sparkline values={courses.get(row.id) ?? []} />, "medium"),
    column.figure("Requests", ({ stats }) => (stats?.attempts ?? 0).toLocaleString(), "medium"),
    {
      title: "Failed",
      cell: ({ stats }) => failedText(stats?.failure_rate ?? null),
      isFigure: true,
      sorting: sortingBy("failure_rate"),
    },
    {
      title: "Waiting",
      cell: (row) => <WaitingText backlog={row.backlog ?? null} />,
      isFigure: true,
      sorting: sortingBy("backlog"),
    },
    column.figure("p95", ({ stats }) => durationText(stats?.duration_ms_p95 ?? null), "medium"),
    column.time("Last accepted", (row) => row.last_success_at),
  ];
}

/** All filters except health, which has its own control. */
const linkedNames = webhookFilterNames.filter((name) => name !== "health");

export function WebhooksPage() {
  const { params, set } = useAddress();
  const sort = params.get("sort");
  const sortingBy: SortingBy = (order) => {
    const isOn = sort === order;
    return { isOn, toggle: () => set({ sort: isOn ? [] : [order] }) };
  };
  const query = {
    include: ["stats", "backlog"],
    sort,
    q: params.get("q"),
    ...Object.fromEntries(webhookFilterNames.map((name) => [name, params.getAll(name)])),
  };
  const isNarrowed = ["q", ...webhookFilterNames].some((name) => params.has(name));
  // Same query as the list below, so both share one request.
  const shown = useApi<Page<ListedWebhook>>({ path: "v1/webhooks", query: { limit: pageSize, ...query } });
  const courses = useCourses((shown.data?.data ?? []).map(({ id }) => id));
  return (
    <>
      <PageHead title="Webhooks">
        {mayManage() && <LinkButton href={pagePath("webhooks/new")} label="New webhook" isPrimary />}
      </PageHead>
      <div class="filters">
        <Chips
          name="health"
          legend="Health"
          values={healthStates}
          chosen={params.getAll("health")}
          textOf={(health) => healthWords[health].text}
        />
        <TextFilter name="q" label="URL or description" placeholder="example.com" isOneText />
        <LinkedFilters names={linkedNames} />
      </div>
      <ResourceList<ListedWebhook>
        title="Webhooks"
        path="v1/webhooks"
        query={query}
        cli={shell`webhooks list${shellOptions(sort === null ? [] : [["sort", sort]])}`}
        columns={columnsOf(courses, sortingBy)}
        none={
          isNarrowed ? (
            "No matching webhooks."
          ) : (
            <>
              <p>No webhooks yet. Create one with:</p>
              <Command text="posthorn webhooks create https://example.com/hooks --events 'order.*'" />
            </>
          )
        }
      />
    </>
  );
}

export function NewWebhookPage() {
  const { go } = useAddress();
  const profiles = useProfileNames();
  const made = useSignal<Webhook | null>(null);
  const send = async (body: object) => {
    const { value } = await callApi<Webhook>({ method: "POST", path: "v1/webhooks", body });
    announce("Webhook created");
    if (value.secret === null) go(pagePath(`webhooks/${value.id}`));
    else made.value = value;
  };
  const leave = () => go(pagePath(`webhooks/${made.value?.id ?? ""}`));
  return (
    <>
      <Trail href={pagePath("webhooks")}>Webhooks</Trail>
      <h1>New webhook</h1>
      <ResourceForm
        fields={webhookFields}
        choices={{ profile: profiles }}
        before={typedWebhook(null)}
        isNew
        seldom={seldom}
        label="Create webhook"
        send={send}
      />
      {made.value !== null && made.value.secret !== null && (
        <Modal title="Webhook created" onClose={leave}>
          <p>The receiver verifies messages with this secret.</p>
          <SecretText secret={made.value.secret} />
          <button type="button" class="primary" onClick={leave}>
            Open webhook
          </button>
        </Modal>
      )}
    </>
  );
}

export function EditWebhookPage() {
  const id = useRouteId();
  const profiles = useProfileNames();
  return (
    <EditPage<Webhook>
      title="Edit webhook"
      path={`v1/webhooks/${id}`}
      page={pagePath(`webhooks/${id}`)}
      nameOf={({ url }) => shortUrl(url)}
      fields={webhookFields}
      choices={{ profile: profiles }}
      typedOf={typedWebhook}
      seldom={seldom}
    />
  );
}

/** Summary of the collapsed fields. */
const seldom = "Limits, order, retries, headers, secrets";

function useProfileNames(): readonly (readonly [string, string])[] {
  const { data } = useApi<{ readonly data: readonly { readonly name: string }[] }>(
    { path: "v1/profiles" },
    { everyMs: false },
  );
  return (data?.data ?? [{ name: "standard" }]).map(({ name }) => [name, name]);
}
