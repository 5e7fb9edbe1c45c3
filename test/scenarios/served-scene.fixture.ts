/** A deployment of one process for a whole test file. Each test has a separate tenant and receiver. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach } from "node:test";
import { PosthornProcess } from "./posthorn-process.fixture.ts";
import { TenantScene } from "./tenant-scene.fixture.ts";

/** Must be called once per file, outside the tests. Returns a function that returns the scene of the current test. */
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
