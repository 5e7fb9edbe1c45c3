/** A served deployment of one process for a whole file, and for each of its tests a tenant and a receiver of their own. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach } from "node:test";
import { PosthornProcess } from "./posthorn-process.ts";
import { TenantScene } from "./tenant-scene.ts";

/** Made once in a file, outside of its tests; returns what gives each test its scene. */
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
