// The API's reference, from its own description.

import { el, select } from "./dom.js";

const EXAMPLE = `curl ${location.origin}/api/v1/sample -H 'Content-Type: application/json' -d '{"count": 4, "seed": 7}'
curl -N ${location.origin}/api/v1/jobs/ID/events
curl ${location.origin}/api/v1/jobs/ID/pictures/0 --output picture.png`;

const resolve = (schema, root) =>
  schema?.$ref
    ? schema.$ref
        .slice(2)
        .split("/")
        .reduce((at, key) => at[key], root)
    : schema;

/** A type in a few words: integer from 1 to 16, or null. */
function words(schema, root) {
  const part = resolve(schema, root);
  if (part.anyOf) return part.anyOf.map((option) => words(option, root)).join(" or ");
  if (part.enum) return part.enum.join(" | ");
  if (part.prefixItems) return `[${part.prefixItems.map((item) => words(item, root)).join(", ")}]`;
  const least = part.minimum ?? part.exclusiveMinimum;
  const most =
    part.maximum ?? (part.exclusiveMaximum === undefined ? undefined : `below ${part.exclusiveMaximum}`);
  const range =
    least === undefined ? "" : most === undefined ? ` from ${least}` : ` from ${least} to ${most}`;
  return `${part.contentEncoding ?? part.type ?? ""}${range}`.trim();
}

function row(name, schema, required, root) {
  const fallback =
    "default" in schema && schema.default !== null
      ? `Default: ${JSON.stringify(schema.default)}.`
      : required
        ? "Needed."
        : "";
  return el(
    "tr",
    el("th", { scope: "row" }, el("code", name)),
    el("td", words(schema, root)),
    el("td", [schema.description, fallback].filter(Boolean).join(" ")),
  );
}

function route(path, verb, operation, root) {
  const body = resolve(operation.requestBody?.content["application/json"].schema, root);
  const fields = Object.entries(body?.properties ?? {}).map(([name, schema]) =>
    row(name, schema, body.required?.includes(name), root),
  );
  const answers = Object.entries(operation.responses)
    .map(([status, answer]) => `${status} ${answer.description}`)
    .join(" · ");
  return el(
    "section.route",
    el("h2", el("span.verb", verb.toUpperCase()), el("code", path)),
    el("p.lead", operation.description),
    fields.length ? el("table", el("tbody", fields)) : null,
    el("p.hint.answers", answers),
  );
}

const description = await (await fetch("/api/v1/openapi.json")).json();
select("#example").textContent = EXAMPLE;
for (const [path, verbs] of Object.entries(description.paths)) {
  for (const [verb, operation] of Object.entries(verbs))
    select("#routes").append(route(path, verb, operation, description));
}
document.documentElement.dataset.ready = "";
