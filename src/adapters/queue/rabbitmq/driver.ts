import type { connect } from "amqplib";

/** The part of amqplib that we use. */
export interface Driver {
  readonly connect: typeof connect;
}

/** Loads amqplib when a RabbitMQ queue is opened. Installations without RabbitMQ never need it. */
export async function loadDriver(): Promise<Driver> {
  const { default: driver } = await import("amqplib");
  return driver;
}
