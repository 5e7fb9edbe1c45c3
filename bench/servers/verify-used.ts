import amqplib from "amqplib";
import { createClient } from "redis";

/** A product that ran without its broker or its Redis would be measured in another mode, and nothing would show it. */
export async function verifyUsed(settings: {
  readonly queueUrl: string;
  readonly queuePrefix: string;
  readonly redisUrl: string;
  readonly redisPrefix: string;
}): Promise<void> {
  const { queueUrl, queuePrefix, redisUrl, redisPrefix } = settings;
  const connection = await amqplib.connect(queueUrl);
  try {
    const channel = await connection.createChannel();
    channel.on("error", () => undefined);
    // Rejects when there is none; declared when the worker begins to consume.
    await channel.checkQueue(`${queuePrefix}.work.default.normal`);
  } finally {
    await connection.close();
  }
  const client = createClient({ url: redisUrl, socket: { reconnectStrategy: false } });
  await client.connect();
  try {
    for await (const keys of client.scanIterator({ MATCH: `${redisPrefix}:*`, COUNT: 1_000 }))
      if (keys.length > 0) return;
    throw new Error("the product wrote nothing to Redis");
  } finally {
    client.destroy();
  }
}
