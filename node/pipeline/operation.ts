import type { z } from 'zod';
import type { ErrorCode } from '../../protocol/base/errors.js';
import type { Result } from '../../protocol/base/result.js';
import type { Family } from '../config/tool-families.js';
import type { Call, ReadCall } from './call.js';
import type { OperationHooks } from './operation-hooks.js';
import type { Picture } from './pictures.js';
import type { Repeatable } from './repeatable.js';

/** Where an operation's field comes from, and how its answer leaves, on HTTP. Paths are under `/api/v1`. */
export interface HttpBinding {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `{name}` segments are fields of the input. */
  readonly path: string;
  /** Where the other fields travel. */
  readonly fields: 'query' | 'body';
  /** A body that is a JSON array is the value of this field; without it arrays are refused. */
  readonly arrayBody?: string;
  /** A member of the body whose object holds fields too, instead of the body itself. */
  readonly nested?: string;
  /** Other names of fields on this surface: alias to field. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Request headers that carry a field: lower-case header to field. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields that this surface does not accept. */
  readonly omit?: readonly string[];
  readonly defaults?: Readonly<Record<string, unknown>>;
  /**
   * Whether an `agent_id` in the query or body is the caller's claim, which must equal the header (interface §5.3), a
   * filter, or the agent that the call is about: a claim too, except that an admin names any agent. By default a filter
   * where a read has such a field, else a claim.
   */
  readonly agentId?: 'claim' | 'filter' | 'subject';
  /**
   * The request is signed with the secret of the node, over this field of the path and the raw body. `required` is false
   * where only a signature that is there must be valid. `as` is signed behind the field, after a slash, where the path says
   * what the body does not.
   */
  readonly signed?: { readonly field: string; readonly required: boolean; readonly as?: string };
  /** Success status, 200 unless given. */
  readonly status?: number | StatusChoice;
  readonly shape?: Shape;
  /** What `shape` makes; given where it is. */
  readonly output?: z.ZodType;
  /**
   * What the entity tag of a GET follows from, where that is not the whole body: a version, and what else a reader would
   * miss. `none` where no two answers are the same.
   */
  readonly tag?: 'none' | ((output: Readonly<Record<string, unknown>>) => TaggedContent);
}

export interface TaggedContent {
  readonly version: number;
  readonly content: unknown;
}

/** The success statuses of a route that has several, and which one an answer has. */
export interface StatusChoice {
  readonly among: readonly number[];
  readonly of: (output: Record<string, unknown>) => number;
}

/** How an operation appears as an MCP tool of the same name. */
export interface McpBinding {
  /**
   * One or two sentences for a language model that has to choose: what the tool does, when it is the right one, what comes
   * back, and what to do next.
   */
  readonly description: string;
  /** Lines for arguments that a model needs in other words than people: field to line. */
  readonly lines?: Readonly<Record<string, string>>;
  /** Callable in every profile, also where it is not listed. */
  readonly always?: true;
  readonly omit?: readonly string[];
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** Further defaults of an answer in TOON. */
  readonly toonDefaults?: Readonly<Record<string, unknown>>;
  readonly aliases?: Readonly<Record<string, string>>;
  readonly shape?: Shape;
  /** What `shape` makes; given where it is. */
  readonly output?: z.ZodType;
}

/** A field that is made of the others. */
export interface Derived {
  /** What it is made of, as help says it. */
  readonly from: string;
  readonly make: (input: Readonly<Record<string, unknown>>) => unknown;
}

/** How an operation appears as a subcommand. */
export interface CliBinding {
  /** For example `store`, or `archive list` for a leaf of a group. */
  readonly command: string;
  /** Fields given by position, in order. */
  readonly positionals?: readonly string[];
  /** Single letters: letter to field. */
  readonly short?: Readonly<Record<string, string>>;
  /** The flags of fields whose own names mean something else on this surface: field to flag. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Other names of flags: flag to field, in snake case. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Which of those names help and messages show, where that is not the field's own name: field to flag. */
  readonly shown?: Readonly<Record<string, string>>;
  /** Other words for values of a field, only on this surface: field to word to value. */
  readonly values?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Fields that this surface makes of the others where they are not given. */
  readonly derived?: Readonly<Record<string, Derived>>;
  /** Fields whose value `-` is read from standard input. */
  readonly stdin?: readonly string[];
  /** Fields whose value here is the path of a file with it, in JSON; `-` is standard input. */
  readonly files?: readonly string[];
  /**
   * Fields that other users of the machine must not see among the arguments: the value is `-` for standard input,
   * `env:<variable>` or `file:<path>`.
   */
  readonly secrets?: readonly string[];
  readonly omit?: readonly string[];
  readonly defaults?: Readonly<Record<string, unknown>>;
  readonly shape?: Shape;
  /** Further defaults of an answer for people. */
  readonly viewDefaults?: Readonly<Record<string, unknown>>;
  /** How people see the answer; programs use `--json`. */
  readonly view: 'memory' | 'memories' | 'message' | 'object' | 'tree';
  /** Columns of the lists in the `object` view: field to heading, in order; all fields unless given. */
  readonly table?: Readonly<Record<string, string>>;
  /** The exit code of an answer that is no failure; 0 unless given. */
  readonly exit?: (output: Record<string, unknown>) => number;
  /** The exit codes of its failures, where they are not those of their codes. */
  readonly failures?: Readonly<Partial<Record<ErrorCode, number>>>;
  /** The sentence of the `message` view, or its lines. */
  readonly message?: (output: Record<string, unknown>) => string | readonly string[];
  readonly examples?: readonly string[];
  /** Asked on a terminal before the operation runs, unless `--yes` is given. */
  readonly confirm?: {
    /** Fields of a call that only looks; its answer is given to `question`. */
    readonly preview?: Readonly<Record<string, unknown>>;
    /** Null when there is nothing to ask. */
    readonly question: (preview: Record<string, unknown>) => string | null;
  };
  /** For an operation that can take long and reports its progress: the label before the count on a terminal. */
  readonly progress?: string;
}

/** Reshapes an answer for one surface where the interface defines another shape there. */
export type Shape = (output: Record<string, unknown>) => Record<string, unknown>;

/** What the pipeline checks before it runs an operation. */
export interface Guards {
  /**
   * `required`: the write must be signed, or made by the machine itself (interface §4.2). The others have no
   * signature. `by-key`: refused over HTTP in the name of an agent with a key. `by-name`: it also makes, changes or removes
   * rows, so it is refused over HTTP for everybody where the operator requires attestation by name.
   */
  readonly attestation?: 'required' | 'by-name' | 'by-key';
  /** HTTP callers must be in the admin set (interface §5.4). */
  readonly admin?: boolean;
}

/** What of a call is needed to say what it is about. */
export type Placing = Pick<ReadCall, 'services' | 'caller' | 'now'>;

type Fields = z.ZodObject;

/** A text that is stored already, and that a write takes from one namespace to another. */
export interface CarriedText {
  readonly text: Readonly<Record<string, unknown>>;
  /** Null where nobody knows it. */
  readonly from: string | null;
  readonly to: string;
}

/** Whether an operation may change anything. */
export type Effect = 'read' | 'write';

/** The call that an operation of that effect receives. */
type CallOf<E extends Effect> = E extends 'read' ? ReadCall : Call;

/**
 * An operation of the service, declared once. Adapters project it onto their surface only from this data; an absent
 * binding means an absent surface (design: architecture, "One declaration, three surfaces").
 */
export interface Operation<
  I extends Fields = Fields,
  O extends z.ZodType = z.ZodType,
  E extends Effect = Effect,
> {
  /** Exactly the tool name of the interface. */
  readonly name: string;
  readonly family: Family;
  /** One sentence for people and programs: help, OpenAPI, capabilities. */
  readonly summary: string;
  readonly input: I;
  readonly output: O;
  /** A read gets a store that cannot write. */
  readonly effect: E;
  readonly guards: Guards;
  /**
   * Who may call it with a token: with one for some namespaces too (`by-namespace`: it shows and changes only what the
   * viewer's `within` lets it), or nobody (`never`: what it gives would outlive the token). Absent: tokens for all namespaces.
   */
  readonly delegable?: 'by-namespace' | 'never';
  /** True where it removes or overwrites what is there: a call with an unknown argument is refused on every surface. */
  readonly overwrites?: true;
  /** True for a write that, made twice, leaves what one leaves; what overwrites does so anyway. */
  readonly idempotent?: true;
  /** True where it asks or tells somebody outside of the mesh: a chat model, or the receiver of a webhook. */
  readonly openWorld?: true;
  /** `none` for a write that is answered when it is durable here, whatever the quorum: it reaches other nodes later. */
  readonly quorum?: 'none';
  /** Input of a write that may run again under the key of a call that was not answered. */
  readonly repeatable?: Repeatable;
  /** True where the memory that it stores has the first id that the key of the call makes: a repeated call finds it there. */
  readonly storesKeyed?: true;
  /** True where each row is a call of its own: policies and their hooks decide about it there. */
  readonly ofRows?: true;
  /**
   * What the screen for secrets looks at in a write: `rows` where the operation shows it each row with `call.screenRow`, or
   * where each row is a call of its own; `nothing` where no text of the input is stored; all fields unless given.
   */
  readonly screens?: 'rows' | 'nothing';
  /** Fields that hold a secret by their meaning. */
  readonly secretFields?: readonly string[];
  /** The namespace that a write is about, where its input does not name it; null where that is not known. */
  readonly placed?: (call: Placing, input: z.output<I>) => Promise<string | null>;
  /** The stored texts that a write takes to a namespace, where that is another one, for the screen for secrets. */
  readonly carries?: (call: Placing, input: z.output<I>) => Promise<readonly CarriedText[]>;
  /** The key of the answer whose rows the TOON formats print; the input then has a `format`. */
  readonly rows?: 'memories' | 'results' | 'archived';
  /** The graph in an answer, or in the part of one; the input then has a `format`. */
  readonly picture?: (answer: z.output<O>) => Picture;
  /** The answer as a table; the input then has an `output_format`. */
  readonly table?: (answer: z.output<O>) => string;
  readonly http?: readonly HttpBinding[];
  readonly mcp?: McpBinding;
  readonly cli?: CliBinding;
  /** The hook events before and after it. */
  readonly hooks?: OperationHooks<z.output<I>>;
  readonly run: (call: CallOf<E>, input: z.output<I>) => Promise<Result<z.input<O>>>;
}

/** Declares an operation; the result is frozen data. */
export function defineOperation<I extends Fields, O extends z.ZodType, E extends Effect>(
  operation: Operation<I, O, E>,
): Operation {
  return Object.freeze(operation) as unknown as Operation;
}
