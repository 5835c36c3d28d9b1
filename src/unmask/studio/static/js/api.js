// The server, in few verbs: describe, start, watch, cancel.

const ROOT = "/api/v1";
const PATIENCE = 3; // attempts to get a stream back before the server itself is asked
const PAUSE = 2; // seconds until a Studio that is busy or away is asked again, unless it says when

async function ask(path, options) {
  let response;
  try {
    response = await fetch(ROOT + path, options);
  } catch {
    throw new Refusal("The Studio does not answer. Is it still running?", PAUSE);
  }
  const answer = await response.json().catch(() => null); // whoever is overwhelmed may answer in plain text
  if (response.ok && answer) return answer;
  throw new Refusal(
    answer?.error ?? `The Studio failed to answer (${response.status}). Try again in a moment.`,
    response.status === 503 ? Number(response.headers.get("Retry-After")) || PAUSE : null,
  );
}

/** Why there is no answer, and after how many seconds to ask again; null: the answer would be the same. */
class Refusal extends Error {
  constructor(message, retry) {
    super(message);
    this.retry = retry;
  }
}

const query = (values) => new URLSearchParams(values).toString();

export let model; // whom requests are meant for

/** A model by its name, or the first; from now on requests are meant for it. */
export async function describe(name) {
  const answer = await ask(name ? `/model?${query({ name })}` : "/model");
  model = answer.name;
  return answer;
}

export const models = () => ask("/models");

export const trainings = () => ask("/trainings");

export const training = (name) => ask(`/training?${query({ name })}`);

export const trainingPicture = (name, of, step) => `${ROOT}/training/picture?${query({ name, of, step })}`;

export const find = (id) => ask(`/jobs/${id}`);

export const cancel = (id) => ask(`/jobs/${id}`, { method: "DELETE" });

const send = (method, path, body) =>
  ask(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const start = (kind, request) => send("POST", `/${kind}`, { model, ...request });

/** What a file, in base64, says of how its picture was drawn. */
export const look = (image) => send("POST", "/origin", { image });

export const galleryPage = ({ before, ...values }) =>
  ask(`/gallery?${query({ ...values, ...(before && { before }) })}`);

export const starKept = ({ id }, starred) => send("PUT", `/gallery/${id}`, { starred });

export const removeKept = ({ id }) => ask(`/gallery/${id}`, { method: "DELETE" });

const finished = (job) => ["done", "failed", "cancelled"].includes(job.state);

/**
 * Follow a job until it is finished; resolves with how it ended. `signal` ends it before. `onPreview(addresses)` is
 * told null of pictures that are as they were.
 */
export function watch(id, { signal, onJob = () => {}, onPreview = () => {} } = {}) {
  return new Promise((resolve, reject) => {
    const stream = new EventSource(`${ROOT}/jobs/${id}/events`);
    const end = (settle, how) => {
      stream.close();
      settle(how);
    };
    signal?.addEventListener("abort", () => end(reject, signal.reason));
    stream.addEventListener("preview", (event) => onPreview(JSON.parse(event.data).pictures));
    stream.addEventListener("job", (event) => {
      const job = JSON.parse(event.data);
      if (finished(job)) end(resolve, job);
      else onJob(job);
    });
    let failures = 0;
    stream.onopen = () => (failures = 0);
    stream.onerror = async () => {
      failures += 1;
      const closed = stream.readyState === EventSource.CLOSED;
      if (!closed && failures < PATIENCE) return; // it tries again by itself
      try {
        await find(id);
        if (closed) throw new Error("The connection to the Studio was lost.");
      } catch (error) {
        end(reject, error);
      }
    };
  });
}
