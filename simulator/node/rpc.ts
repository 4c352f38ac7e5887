/** An error as a node answers it. */
export class JsonRpcError extends Error {
  readonly code: number
  readonly data: string | undefined

  constructor(code: number, message: string, data?: string) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.data = data
  }
}

/** A result that is JSON text already: large answers are made piece by piece. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
