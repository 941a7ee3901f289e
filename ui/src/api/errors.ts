export interface Detail {
  path: string;
  message: string;
}

/** A refusal or failure as the server words it; `details` say which field it is about. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly details: Detail[];
  readonly requestId: string | undefined;

  constructor(status: number, code: string, message: string, details: Detail[] = [], requestId?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.requestId = requestId;
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
