/** A server cannot listen where it is configured to: the message names the setting and the cause. */
export class ListenError extends Error {
  constructor(place: ListenPlace, cause: unknown, reason = reasonOf(cause)) {
    const { setting, host, port } = place
    super(`cannot listen on ${host}:${port} (${setting}): ${reason}`, { cause })
    this.name = 'ListenError'
  }
}

/** Where a server is to listen. */
export interface ListenPlace {
  /** What it is configured by, such as `PORT`. */
  readonly setting: string
  readonly host: string
  readonly port: number
}

/** What the system says of an address that cannot be had. */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process, or another server of this one, has the port; choose a free one',
  EACCES: 'this user may not have the port; choose one above 1023',
  EADDRNOTAVAIL: 'the machine has no such address',
  ENOTFOUND: 'the host has no address',
  EAI_AGAIN: 'the address of the host could not be looked up',
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

const reasonOf = (error: unknown): string =>
  REASONS[codeOf(error)] ?? (error instanceof Error ? error.message : String(error))

/** Opens a server. Throws `ListenError` where the place cannot be had, and what else `open` throws as it is. */
export const listenAt = async <T>(place: ListenPlace, open: () => Promise<T>): Promise<T> => {
  try {
    return await open()
  } catch (error) {
    if (Object.hasOwn(REASONS, codeOf(error))) throw new ListenError(place, error)
    throw error
  }
}
