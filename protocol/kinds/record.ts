/** The position of a record among all records: by kind, then by id. */
export interface RecordPlace {
  readonly kind: string;
  readonly id: string;
}

/** A thing whose kind is stored in `records`, without its stamps. */
export interface RecordImage extends RecordPlace {
  readonly namespace: string;
  readonly image: object;
}
