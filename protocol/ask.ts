/** A question with its answer, as an entry of a map by names. */
export interface Ask<Request, Answer> {
  readonly request: Request;
  readonly answer: Answer;
}
