// The Node.js clients of the matrix: what fetch() and https.get() do by themselves with the environment
// that they find.
//
//     node fetch.mjs fetch|get URL TOKEN
//
// Prints the version, then the answer or the error with its causes. Exit code 0 for an answer below
// 400, else 9.
import http from "node:http";
import https from "node:https";

const [how, url, token] = process.argv.slice(2);
const asked = { headers: { "X-Marker": token } };
const LIMIT = 4000; // milliseconds

function answered(status, words, body) {
  console.log(...(status >= 400 ? ["failed:"] : []), status, words, body);
  process.exit(status >= 400 ? 9 : 0); // a proxy that keeps the connection open would keep us too
}

function failed(error) {
  for (let at = error; at; at = at.cause ?? at.errors?.[0]) console.log("failed:", String(at), at.code ?? "");
  process.exit(9);
}

async function read(stream) {
  let text = "";
  for await (const chunk of stream) text += chunk;
  return text;
}

console.log("ran Node.js", process.version);
if (how === "fetch") {
  fetch(url, { ...asked, signal: AbortSignal.timeout(LIMIT) })
    .then(async (answer) => answered(answer.status, answer.statusText, await answer.text()))
    .catch(failed);
} else {
  const { get } = url.startsWith("https:") ? https : http;
  get(url, { ...asked, signal: AbortSignal.timeout(LIMIT) }, (answer) =>
    read(answer).then((body) => answered(answer.statusCode, answer.statusMessage, body), failed),
  ).on("error", failed);
}
