declare const meaning: unique symbol;

/**
 * A text with a meaning. A plain text may stand for it, so nothing is converted where texts come in; a text of another
 * meaning may not, so the compiler finds an agent where a peer belongs.
 */
type Text<Meaning extends string> = string & { readonly [meaning]?: Meaning };

/** The id of a memory, a UUID. */
export type MemoryId = Text<'memory'>;
/** The id of a subject of any kind: that of a memory is one, and that of a notice about an origin. */
export type SubjectId = Text<'memory' | 'origin' | 'subject'>;
/** A node, `peer-<16 hex digits>`. */
export type PeerId = Text<'peer'>;
/** A database of a node, `<peer id>/<epoch>`: one chain of operations. */
export type Origin = Text<'origin'>;
/** An agent or another principal (interface §2.4). */
export type AgentId = Text<'agent'>;
/** An instant as canonical UTC text, whose order is that of time. */
export type Instant = Text<'instant'>;
/** A stamp of the hybrid logical clock, whose order is that of the log. */
export type Hlc = Text<'hlc'>;
