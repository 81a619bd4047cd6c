/**
 * For threads that use SQLite: its library's errors are not native errors, so they would reach the thread's owner
 * without message and stack. Rethrows uncaught errors in a form that keeps both.
 */
export function rethrowAsNative(): void {
  process.on('uncaughtException', (thrown: unknown) => {
    const { message = String(thrown), stack } = thrown as Partial<Error>;
    throw Object.assign(new Error(message), stack === undefined ? {} : { stack });
  });
}
