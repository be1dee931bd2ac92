#!/usr/bin/env node
// A driver for undici: driver.mjs --client undici|null. The protocol is that of docs/drivers.md.
//
// Callers are asynchronous loops on one thread. undici does not limit how long a request waits for a
// connection of its pool, so the timeout covers only the response after that wait; undici's own timers
// count in steps of up to a second.
import { createInterface } from "node:readline";

const CLIENTS = { undici: startUndici, null: startNull };

class Failure extends Error {
  constructor(kind, example) {
    super(String(example));
    this.kind = kind;
  }
}

async function main() {
  const client = clientOf(process.argv.slice(2));
  const [version, start] = await CLIENTS[client]();
  for await (const text of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await answer(text, client, version, start)) + "\n");
  }
}

function clientOf(words) {
  if (words.length === 2 && words[0] === "--client" && words[1] in CLIENTS) return words[1];
  stop("usage: driver.mjs --client " + Object.keys(CLIENTS).join("|"));
}

function stop(line) {
  console.error("candor driver: " + line);
  process.exit(2);
}

// Each client: its version, and a function that prepares a cell and returns functions to make a
// request and to stop.
async function startUndici() {
  let undici;
  try {
    undici = await import("undici");
  } catch {
    stop("undici is not installed: cd clients/node && npm install");
  }
  const { default: manifest } = await import("undici/package.json", { with: { type: "json" } });
  const start = (cell) => {
    const url = new URL(cell.url);
    const wait = cell.timeout_ms;
    const pool = new undici.Pool(url.origin, {
      connections: cell.pool, pipelining: 1, headersTimeout: wait, bodyTimeout: wait, connectTimeout: wait,
    });
    const path = url.pathname + url.search;
    const request = async () => {
      try {
        const { statusCode, body } = await pool.request({ method: "GET", path });
        return [statusCode, (await body.arrayBuffer()).byteLength];
      } catch (error) {
        throw new Failure(kindOf(error), error);
      }
    };
    return { request, stop: () => pool.destroy() };
  };
  return [manifest.version, start];
}

function kindOf(error) {
  const code = error.code ?? error.cause?.code;
  if (/TIMEOUT/.test(code)) return "timeout";
  if (code === "ECONNREFUSED") return "refused";
  if (["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes(code)) return "closed";
  return "other";
}

async function startNull() {
  return ["none", (cell) => ({ request: async () => [cell.expect_status, cell.expect_body_bytes], stop: () => {} })];
}

async function answer(text, client, version, start) {
  let line;
  try {
    line = JSON.parse(text);
  } catch (error) {
    return { error: "this is no JSON: " + error.message };
  }
  if (line?.do === "describe") {
    return { driver: "candor.driver/1", client, version, runtime: "Node " + process.versions.node };
  }
  if (line?.do !== "run") return { error: 'a line needs "do": "describe" or "run"' };
  try {
    return await run(checked(line), start);
  } catch (error) {
    return { error: error.message };
  }
}

function checked(line) {
  if (typeof line.url !== "string") throw new Error('"url" is needed');
  const cell = { url: line.url };
  const numbers = [["pool", 1], ["concurrency", 1], ["warm_up_ms", 0, 0], ["duration_ms", 1], ["timeout_ms", 1, 30000],
    ["expect_status", 100, 200], ["expect_body_bytes", 0, null]];
  for (const [name, least, preset] of numbers) {
    const value = line[name] ?? preset;
    if (value === undefined) throw new Error(`"${name}" is needed`);
    if (value !== null && (!Number.isInteger(value) || value < least)) {
      throw new Error(`"${name}" must be a whole number, at least ${least}`);
    }
    cell[name] = value;
  }
  return cell;
}

async function run(cell, start) {
  const { request, stop: end } = start(cell);
  const beginNs = nowNs() + cell.warm_up_ms * 1e6;
  const endNs = beginNs + cell.duration_ms * 1e6;
  const inside = { ok: 0, errors: {} }, outside = { ok: 0, errors: {} }, examples = {};
  const latency = { min: null, max: null, sum: 0, counts: new Map() };

  const call = async () => {
    for (let doneNs = 0; doneNs < endNs;) {
      const sentNs = nowNs();
      let failure = null;
      try {
        failure = judge(cell, ...(await request()));
      } catch (error) {
        failure = error instanceof Failure ? error : new Failure("crash", error);
      }
      doneNs = nowNs();
      const inWindow = doneNs >= beginNs && doneNs < endNs;
      const books = inWindow ? inside : outside;
      if (failure) {
        books.errors[failure.kind] = (books.errors[failure.kind] ?? 0) + 1;
        examples[failure.kind] ??= failure.message;
      } else {
        books.ok += 1;
        if (inWindow) record(latency, doneNs - sentNs);
      }
    }
  };
  await Promise.all(Array.from({ length: cell.concurrency }, call));
  await end();
  const counts = [...latency.counts].sort(([a], [b]) => a - b);
  return { pool: cell.pool, concurrency: cell.concurrency, window_ns: cell.duration_ms * 1e6, ok: inside.ok,
    errors: inside.errors, examples, outside, latency_ns: { ...latency, counts } };
}

function judge(cell, status, bodyBytes) {
  if (status !== cell.expect_status) return new Failure("status", status);
  if (cell.expect_body_bytes !== null && bodyBytes !== cell.expect_body_bytes) return new Failure("body", bodyBytes + " bytes");
  return null;
}

// Durations, bucketed by their eleven leading bits; extremes and the sum are exact.
function record(latency, ns) {
  let width = 1;
  while (ns / width >= 2048) width *= 2;
  const bucket = Math.floor(ns / width) * width;
  latency.counts.set(bucket, (latency.counts.get(bucket) ?? 0) + 1);
  latency.min = latency.min === null ? ns : Math.min(latency.min, ns);
  latency.max = latency.max === null ? ns : Math.max(latency.max, ns);
  latency.sum += ns;
}

function nowNs() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e9 + nanoseconds;
}

await main();
