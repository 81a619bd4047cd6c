/** The method of an operation: `memoryStore` for `memory_store`. */
export const methodOf = (operation: string): string =>
  operation.replace(/_(\w)/g, (_whole, letter: string) => letter.toUpperCase());
