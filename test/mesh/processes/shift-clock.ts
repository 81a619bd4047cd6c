/**
 * Loaded into a process under test with `--import`: its clock is off by as many milliseconds as the test says. The
 * product has no such setting.
 */
const offsetMs = Number(process.env['TEST_CLOCK_OFFSET_MS'] ?? 0);

const RealDate = Date;

if (Number.isFinite(offsetMs) && offsetMs !== 0) {
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: [], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [target.now() + offsetMs] : args, newTarget) as object,
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      return key === 'now' ? () => target.now() + offsetMs : value;
    },
  });
}
