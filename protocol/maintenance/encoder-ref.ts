/** An encoder as its vectors name it; vectors of different encoders are never compared. */
export interface EncoderRef {
  readonly model: string;
  readonly dim: number;
}

/** The encoders of a database. */
export interface Encoders {
  /** Whose vectors are searched; null before the first. */
  readonly searched: EncoderRef | null;
  /** Embeds every memory, and takes the place of the searched one when it is done. */
  readonly coming: EncoderRef | null;
  /** False where `searched` is only found in the vectors, which means to read all of them. */
  readonly isRecorded: boolean;
  /** Whether there are searched vectors. */
  readonly hasVectors: boolean;
}
