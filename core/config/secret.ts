/** Shorter texts are not looked for in log lines: they stand in ordinary words too. */
const MIN_SENSITIVE_LENGTH = 6

const isSensitive = (text: string): boolean => text.length >= MIN_SENSITIVE_LENGTH

/** A secret: prints as `[redacted]`, its text only through `reveal`. */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  reveal(): string {
    return this.#text
  }

  get isEmpty(): boolean {
    return this.#text === ''
  }

  /** What must not appear in a log line. */
  sensitiveTexts(): readonly string[] {
    return [this.#text].filter(isSensitive)
  }

  toString(): string {
    return '[redacted]'
  }

  toJSON(): string {
    return this.toString()
  }
}

/** An address that may carry credentials in its user part, path or query: prints as scheme and host. */
export class SecretUrl extends Secret {
  override sensitiveTexts(): readonly string[] {
    const url = this.#parsed()
    if (url === undefined) return super.sensitiveTexts()
    const { username, password, pathname, search } = url
    const parts = pathname.split('/').filter((part) => isLikelyCredential(part))
    const values = [...new URLSearchParams(search).values()]
    const texts = [username, password, ...parts, ...values]
    return [...new Set(texts.flatMap((text) => [text, decodeUriOrKeep(text)]))].filter(isSensitive)
  }

  override toString(): string {
    if (this.isEmpty) return ''
    const url = this.#parsed()
    return url === undefined ? super.toString() : `${url.protocol}//${url.host}`
  }

  #parsed(): URL | undefined {
    return URL.canParse(this.reveal()) ? new URL(this.reveal()) : undefined
  }
}

/** Providers put keys into the path: long parts that are not words, versions or names of an API. */
const isLikelyCredential = (part: string): boolean =>
  part.length >= 16 || (part.length >= 8 && /\d/.test(part) && /[a-z]/i.test(part))

const decodeUriOrKeep = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
