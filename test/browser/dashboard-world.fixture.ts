/** A server, its receiver, and a logged-in browser: the setup of each dashboard test. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Receiver, startReceiver } from "../peers/receiver.ts";
import { PosthornProcess } from "../scenarios/posthorn-process.fixture.ts";
import { loggedIn, openBrowser, visitDashboard } from "./browser.fixture.ts";

export class DashboardWorld {
  readonly server: PosthornProcess;
  readonly receiver: Receiver;
  readonly browser: Browser;
  /** A browser context that is logged in as the administrator. */
  readonly context: BrowserContext;

  private constructor(parts: Pick<DashboardWorld, "server" | "receiver" | "browser" | "context">) {
    this.server = parts.server;
    this.receiver = parts.receiver;
    this.browser = parts.browser;
    this.context = parts.context;
  }

  static async open(env: Readonly<Record<string, string>> = {}): Promise<DashboardWorld> {
    const [server, receiver, browser] = await Promise.all([
      PosthornProcess.start({ env }),
      startReceiver(),
      openBrowser(),
    ]);
    const context = await loggedIn(browser, { url: server.url, key: server.adminKey });
    return new DashboardWorld({ server, receiver, browser, context });
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.receiver.close();
    await this.server.remove();
  }

  /** A separate browser context, logged in as the administrator. */
  logIn(options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> {
    return loggedIn(this.browser, { url: this.server.url, key: this.server.adminKey }, options);
  }

  logInAs(key: string): Promise<BrowserContext> {
    return loggedIn(this.browser, { url: this.server.url, key });
  }

  visit(path: string, on = this.context): Promise<Page> {
    return visitDashboard(on, { url: this.server.url, path });
  }
}
