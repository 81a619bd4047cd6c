/**
 * For threads that use SQLite: its library's errors are no native ones, so that they would reach the thread's owner
 * without message and stack. Rethrows what nobody caught as an error that survives the way.
 */
export function rethrowAsNative(): void {
  process.on('uncaughtException', (thrown: unknown) => {
    const { message = String(thrown), stack } = thrown as Partial<Error>;
    throw Object.assign(new Error(message), stack === undefined ? {} : { stack });
  });
}
