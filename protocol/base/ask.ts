/** The request and answer types of one entry in a map of questions. */
export interface Ask<Request, Answer> {
  readonly request: Request;
  readonly answer: Answer;
}
