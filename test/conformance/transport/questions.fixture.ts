/**
 * A sender thread sends a question to the test and waits for the answer. Tests judge addresses and resolve names with
 * their own functions, which cannot be sent to a thread.
 */
import { BroadcastChannel, receiveMessageOnPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";

export interface QuestionLine {
  readonly channel: string;
  /** Number of answers so far, or `hungUp`. */
  readonly answered: Int32Array<SharedArrayBuffer>;
}

interface Question {
  readonly name: string;
  readonly argument: string;
}

type Answer = { readonly value: unknown } | { readonly code: string };

let lines = 0;
const hungUp = -1;

/** The test's side: answers each question with the function of that name. */
export function answerQuestions(functions: Readonly<Record<string, (argument: string) => unknown>>): {
  readonly settings: QuestionLine;
  close(): void;
} {
  const settings = {
    channel: `questions ${process.pid} ${(lines += 1)}`,
    answered: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)),
  };
  const { answered } = settings;
  const channel = new BroadcastChannel(settings.channel);
  channel.addEventListener("message", (event) => {
    const { name, argument } = event.data as Question;
    let answer: Answer;
    try {
      answer = { value: functions[name]?.(argument) };
    } catch (error) {
      answer = { code: (error as { readonly code?: string }).code ?? String(error) };
    }
    channel.postMessage(answer);
    Atomics.add(answered, 0, 1);
    Atomics.notify(answered, 0);
  });
  return {
    settings,
    close: () => {
      channel.close();
      Atomics.store(answered, 0, hungUp);
      Atomics.notify(answered, 0);
    },
  };
}

/** The thread's side. Blocks until the test has answered. */
export function openLine({ channel: name, answered }: QuestionLine): (question: Question) => unknown {
  const channel = new BroadcastChannel(name);
  channel.unref();
  return (question) => {
    const before = Atomics.load(answered, 0);
    if (before !== hungUp) {
      channel.postMessage(question);
      Atomics.wait(answered, 0, before);
    }
    if (Atomics.load(answered, 0) === hungUp) throw new Error("the test is over");
    const answer = (receiveMessageOnPort(channel as unknown as MessagePort) as { message: Answer }).message;
    if ("code" in answer) throw Object.assign(new Error("the test refuses"), answer);
    return answer.value;
  };
}
