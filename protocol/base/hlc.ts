import { CLOCK_AHEAD_MS_MAX } from './limits.js';

/**
 * Hybrid logical clock stamps: 13 digits of milliseconds, `-`, 5 digits of counter, so that text order is stamp order
 * (design: mesh, "The operation log").
 */
export type Hlc = string;

const COUNTER_MAX = 99_999;

export const HLC_ZERO: Hlc = '0000000000000-00000';

export function formatHlc(ms: number, counter: number): Hlc {
  return `${String(ms).padStart(13, '0')}-${String(counter).padStart(5, '0')}`;
}

export function hlcMs(hlc: Hlc): number {
  return Number(hlc.slice(0, 13));
}

/** The next local stamp: the wall clock when it is ahead, else the last stamp plus one. */
export function nextHlc(last: Hlc, nowMs: number): Hlc {
  const lastMs = hlcMs(last);
  if (nowMs > lastMs) return formatHlc(nowMs, 0);
  const counter = Number(last.slice(14)) + 1;
  return counter > COUNTER_MAX ? formatHlc(lastMs + 1, 0) : formatHlc(lastMs, counter);
}

/** The latest stamp that a node takes from another one at an instant of its own clock. */
export const latestHlc = (nowMs: number): Hlc => formatHlc(nowMs + CLOCK_AHEAD_MS_MAX, COUNTER_MAX);

/** True if the stamp is further ahead of this clock than nodes accept. */
export const isAhead = (hlc: Hlc, nowMs: number): boolean => hlc > latestHlc(nowMs);

/** True for a text in the form of a stamp. */
export const isHlc = (text: string): boolean => /^\d{13}-\d{5}$/.test(text);
