/** One way into the program, under drawn inputs. */
export interface Surface {
  readonly name: string;
  /** Sends so many drawn inputs; throws at the first fault, with what is needed to see it again. */
  send(count: number): Promise<void>;
  /** To be called while nothing else is sent: what was refused changed nothing, and what is honest still works. */
  check(): Promise<void>;
  /** What came of the inputs, for people. */
  summary(): string;
  /** Ends what it opened, and looks at it for the last time. */
  end(): Promise<void>;
}

export interface SurfaceOptions {
  readonly seed: number;
  /** How many inputs the run sends here in all. */
  readonly count: number;
}

/** A fault with what is needed to see it again. */
export function fault(problem: string, ...shown: readonly string[]): never {
  throw new Error([problem, ...shown].join('\n'));
}

/** Counts by name. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string | number, by = 1): void {
    this.#counts.set(String(name), (this.#counts.get(String(name)) ?? 0) + by);
  }

  of(name: string | number): number {
    return this.#counts.get(String(name)) ?? 0;
  }

  toString(): string {
    return [...this.#counts]
      .sort()
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  }
}

/** Runs so many workers side by side, each taking the next turn until there is none. */
export async function sideBySide(
  workers: number,
  turns: number,
  run: (turn: number, worker: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (index: number) => {
    while (next < turns) {
      const turn = next;
      next += 1;
      await run(turn, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, turns) }, (_, index) => worker(index)));
}
