import Negotiator from 'negotiator'

/** Media type of an `Accept` header that is served best; undefined: none. Without a header it is the first. Source: RFC 9110 12.5.1. */
export const acceptedType = (
  accept: string | undefined,
  served: readonly string[],
): string | undefined =>
  new Negotiator({ headers: { ...(accept !== undefined && { accept }) } }).mediaType([...served])
