import type { connect } from "amqplib";

/** What we use of the client's module. */
export interface Driver {
  readonly connect: typeof connect;
}

/** amqplib is loaded when a RabbitMQ queue is opened, not before: installations without one never need it. */
export async function loadDriver(): Promise<Driver> {
  const { default: driver } = await import("amqplib");
  return driver;
}
