/** Collects the values of one statement; SQL text only ever holds the placeholder that comes back. */
export interface QueryParameters {
  bind(value: string | readonly string[], type: string): string
  readonly params: Readonly<Record<string, string | readonly string[]>>
}

/** An empty set of parameters. */
export const createQueryParameters = (): QueryParameters => {
  const params: Record<string, string | readonly string[]> = {}
  let count = 0
  return {
    params,
    bind: (value, type) => {
      const name = `p${count++}`
      params[name] = value
      return `{${name}:${type}}`
    },
  }
}

/** Type of a bound time. */
export const TIME_PARAMETER_TYPE = `DateTime64(3, 'UTC')`
