import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

// The colors of states are told apart by everybody, and text can be read: computed from the tokens themselves.

type Triple = [number, number, number];
const css = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");
const tokens = new Map([...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map((m) => [m[1]!, [m[2]!, m[3]!] as const]));
const color = (name: string, theme: 0 | 1): Triple => linear(tokens.get(name)![theme]);
const themes = [0, 1] as const;
const states = ["done", "running", "failed", "retry", "canceled"];

function linear(hex: string): Triple {
  return [1, 3, 5].map((i) => {
    const v = parseInt(hex.slice(i, i + 2), 16) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  }) as Triple;
}

function contrast(a: Triple, b: Triple): number {
  const y = (c: Triple) => 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] + 0.05;
  return Math.max(y(a), y(b)) / Math.min(y(a), y(b));
}

const times = (m: number[][], v: Triple): Triple => m.map((r) => r[0]! * v[0] + r[1]! * v[1] + r[2]! * v[2]) as Triple;

/** How colors look to people who lack a kind of cone: Machado, Oliveira and Fernandes 2009, on linear light. */
const sights: Record<string, number[][]> = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

function lab(rgb: Triple): Triple {
  const clamped = rgb.map((v) => Math.min(1, Math.max(0, v))) as Triple;
  const [x, y, z] = times([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]], clamped);
  const f = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [fx, fy, fz] = [f(x / 0.95047), f(y), f(z / 1.08883)];
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
}

const turn = 2 * Math.PI;
const degrees = (d: number) => (d * turn) / 360;

/** The difference of two colors as people see it: CIEDE2000. */
function difference([l1, a1, b1]: Triple, [l2, a2, b2]: Triple): number {
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
  const [p1, p2] = [a1 * (1 + g), a2 * (1 + g)];
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const hue = (b: number, a: number) => (Math.atan2(b, a) + turn) % turn;
  const [h1, h2] = [hue(b1, p1), hue(b2, p2)];
  let dh = h2 - h1;
  if (Math.abs(dh) > Math.PI) dh -= Math.sign(dh) * turn;
  const h = Math.abs(h1 - h2) > Math.PI ? (h1 + h2 + turn) / 2 : (h1 + h2) / 2;
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const t = 1 - 0.17 * Math.cos(h - degrees(30)) + 0.24 * Math.cos(2 * h) + 0.32 * Math.cos(3 * h + degrees(6)) - 0.2 * Math.cos(4 * h - degrees(63));
  const sl = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
  const [sc, sh] = [1 + 0.045 * c, 1 + 0.015 * c * t];
  const rotation = -2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) * Math.sin(degrees(60) * Math.exp(-((((h * 360) / turn - 275) / 25) ** 2)));
  const [dl, dc, dH] = [(l2 - l1) / sl, (c2 - c1) / sc, (2 * Math.sqrt(c1 * c2) * Math.sin(dh / 2)) / sh];
  return Math.sqrt(dl ** 2 + dc ** 2 + dH ** 2 + rotation * dc * dH);
}

test("the color difference matches published examples", () => {
  expect(difference([50, 2.6772, -79.7751], [50, 0, -82.7485])).toBeCloseTo(2.0425, 3);
  expect(difference([22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619])).toBeCloseTo(2.0373, 3);
});

test("states are distinguishable with every kind of color vision", () => {
  for (const theme of themes) {
    for (const [sight, matrix] of Object.entries(sights)) {
      for (const a of states) {
        for (const b of states.slice(states.indexOf(a) + 1)) {
          const d = difference(lab(times(matrix, color(a, theme))), lab(times(matrix, color(b, theme))));
          expect(d, `${a} and ${b}, ${sight}, theme ${theme}: ${d.toFixed(1)}`).toBeGreaterThanOrEqual(19.5);
        }
      }
    }
  }
});

test("marks and text have enough contrast", () => {
  for (const theme of themes) {
    for (const state of [...states, "waiting"]) expect(contrast(color(state, theme), color("surface", theme)), `${state} ${theme}`).toBeGreaterThanOrEqual(3);
    for (const ground of ["surface", "canvas", "well", "hover", "selected", "sunken"]) {
      for (const text of ["text", "text-2", "text-3"]) expect(contrast(color(text, theme), color(ground, theme)), `${text} on ${ground} ${theme}`).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrast(color("failed-text", theme), color("failed-wash", theme))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(color("on-accent", theme), color("accent", theme))).toBeGreaterThanOrEqual(4.5);
  }
});
