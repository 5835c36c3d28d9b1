// The server, in four verbs: describe, start, watch, cancel.

const ROOT = "/api/v1";

async function ask(path, options) {
  let response;
  try {
    response = await fetch(ROOT + path, options);
  } catch {
    throw new Error("The Studio does not answer. Is it still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status });
  return answer;
}

export const describe = () => ask("/model");

export const find = (id) => ask(`/jobs/${id}`);

export const cancel = (id) => ask(`/jobs/${id}`, { method: "DELETE" });

export const start = (kind, request) =>
  ask(`/${kind}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
  });

export const finished = (job) => ["done", "failed", "cancelled"].includes(job.state);

/** Follow a job until it is finished; resolves with how it ended. */
export function watch(id, { onJob = () => {}, onPreview = () => {} } = {}) {
  return new Promise((resolve, reject) => {
    const stream = new EventSource(`${ROOT}/jobs/${id}/events`);
    stream.addEventListener("preview", (event) => onPreview(JSON.parse(event.data).pictures));
    stream.addEventListener("job", (event) => {
      const job = JSON.parse(event.data);
      onJob(job);
      if (finished(job)) {
        stream.close();
        resolve(job);
      }
    });
    stream.onerror = async () => {
      if (stream.readyState !== EventSource.CLOSED) return; // it tries again by itself
      try {
        await find(id);
        reject(new Error("The connection to the Studio was lost."));
      } catch (error) {
        reject(error);
      }
    };
  });
}
