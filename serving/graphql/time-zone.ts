/** Zones whose names are the same everywhere. */
const ZONES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('timeZone'))

const MAX_NAME_LENGTH = 40

/**
 * The name under which a zone of the IANA database is known to every engine: of `Asia/Kolkata` the older `Asia/Calcutta`.
 * undefined: there is no such zone.
 */
export const canonicalTimeZone = (name: string): string | undefined => {
  if (ZONES.has(name)) return name
  if (name.length > MAX_NAME_LENGTH || !/^[A-Za-z][\w+/-]*$/.test(name)) return undefined
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions()
    return ZONES.has(timeZone) || timeZone === 'UTC' ? timeZone : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
