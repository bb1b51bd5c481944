import { execFileSync } from "node:child_process";
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Entry, readTar, writeTar } from "./tar";

// The archives of this page and those of the system's tar are read by each other.

const long = `${"folder/".repeat(20)}a file with a long name and ü.sql`;
const binary = Uint8Array.from({ length: 1500 }, (_, i) => (i * 7) % 256);
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "zerodag-tar-"));
  mkdirSync(dirname(join(folder, "from", long)), { recursive: true });
  writeFileSync(join(folder, "from/daily.dig"), "+a:\n  echo>: a\n");
  writeFileSync(join(folder, "from/run.sh"), "#!/bin/sh\n");
  chmodSync(join(folder, "from/run.sh"), 0o755);
  writeFileSync(join(folder, "from/data.bin"), binary);
  writeFileSync(join(folder, "from/empty"), "");
  writeFileSync(join(folder, "from", long), "select 1\n");
  symlinkSync("run.sh", join(folder, "from/link"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const packed = (format: string) => new Uint8Array(execFileSync("tar", [`--format=${format}`, "-C", join(folder, "from"), "-cf", "-", "."]));

function unpack(name: string, archive: Uint8Array): string {
  const to = join(folder, name);
  mkdirSync(to);
  execFileSync("tar", ["-C", to, "-xf", "-"], { input: archive, stdio: ["pipe", "pipe", "pipe"] });
  return to;
}

const named = (entries: Entry[], name: string) => entries.find((e) => e.name === name)!;
const file = (name: string, text: string, mode = 0o644): Entry => ({ name, kind: "file", mode, content: new TextEncoder().encode(text), raw: null });

for (const format of ["pax", "gnu", "ustar"]) {
  test(`reads what tar packs as ${format}, and writes unchanged entries identically`, () => {
    const archive = packed(format);
    const entries = readTar(archive);
    expect(named(entries, "run.sh")).toMatchObject({ kind: "file", mode: 0o755 });
    expect(named(entries, "link")).toMatchObject({ kind: "link" });
    expect(named(entries, "data.bin").content).toEqual(binary);
    expect(named(entries, "empty").content).toHaveLength(0);
    expect(new TextDecoder().decode(named(entries, long).content)).toBe("select 1\n");
    const written = writeTar(entries);
    expect(written.subarray(0, written.length - 1024)).toEqual(archive.subarray(0, written.length - 1024));
    expect(readTar(written)).toEqual(entries);
  });
}

test("tar unpacks written archives with modes, links and long names", () => {
  const kept = readTar(packed("pax")).filter((e) => ["link", "data.bin", "run.sh"].includes(e.name));
  const deep = `deep/${"x".repeat(120)}/ü.txt`;
  const to = unpack("to", writeTar([...kept, file("new.sh", "echo\n", 0o755), file(deep, "long\n"), file("ä", "short\n"), file("e".repeat(100), "")]));
  expect(readFileSync(join(to, "data.bin"))).toEqual(Buffer.from(binary));
  expect(readlinkSync(join(to, "link"))).toBe("run.sh");
  expect(lstatSync(join(to, "run.sh")).mode & 0o777).toBe(0o755);
  expect(lstatSync(join(to, "new.sh")).mode & 0o777).toBe(0o755);
  expect(readFileSync(join(to, deep), "utf8")).toBe("long\n");
  expect(readFileSync(join(to, "ä"), "utf8")).toBe("short\n");
  expect(lstatSync(join(to, "e".repeat(100))).size).toBe(0);
});

test("names of every length are the same after writing and reading", () => {
  const names = Array.from({ length: 220 }, (_, i) => "n".repeat(i + 1));
  expect(readTar(writeTar(names.map((n) => file(n, n)))).map((e) => e.name)).toEqual(names);
});

test("a damaged archive is rejected, not partly read", () => {
  const archive = writeTar([file("a.dig", "x".repeat(2000))]);
  expect(() => readTar(archive.subarray(0, 1024))).toThrow("it ends in the middle of a file");
  const changed = archive.slice();
  changed[0] = 66;
  expect(() => readTar(changed)).toThrow("checksum");
});

test("arbitrary bytes are read or rejected without endless loops", () => {
  let seed = 1;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const whole = packed("pax");
  for (let round = 0; round < 300; round++) {
    const bytes = whole.slice(0, random(whole.length));
    for (let i = 0; i < 3 && bytes.length > 0; i++) bytes[random(bytes.length)] = random(256);
    try {
      for (const e of readTar(bytes)) expect(e.raw!.length).toBeGreaterThanOrEqual(512);
    } catch (error) {
      expect(String(error)).toMatch(/The archive is damaged/);
    }
  }
});
