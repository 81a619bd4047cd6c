/**
 * What the product itself knows of the types of operations. The declaration of the package has them for each operation
 * (`declaration.ts`).
 */

type AnyInput = Readonly<Record<string, unknown>>;

export type Operations = Readonly<Record<string, { input: AnyInput; answer: Record<string, unknown> }>>;

export type Formats = Readonly<Record<string, AnyInput>>;
