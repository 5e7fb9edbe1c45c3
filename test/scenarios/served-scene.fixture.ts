/** A deployment of one process for a whole test file. Each test has a separate tenant and receiver. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach } from "node:test";
import { PosthornProcess } from "./posthorn-process.fixture.ts";
import { TenantScene } from "./tenant-scene.fixture.ts";

/** Called once per file, outside the tests. Returns a function that gives each test its scene. */
export function servedScene(): () => TenantScene {
  let posthorn: PosthornProcess | null = null;
  let scene: TenantScene | null = null;
  let tests = 0;
  const current = (): TenantScene => {
    assert.ok(scene !== null);
    return scene;
  };
  before(async () => {
    posthorn = await PosthornProcess.start();
  });
  beforeEach(async () => {
    assert.ok(posthorn !== null);
    const { url: baseUrl, adminKey } = posthorn;
    scene = await TenantScene.open({ baseUrl, adminKey, tenantId: `tenant-${++tests}` });
  });
  afterEach(() => current().close());
  after(() => posthorn?.remove());
  return current;
}
