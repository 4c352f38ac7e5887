/** The first value of a header; undefined: there is none. */
export const firstValue = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.[0]
