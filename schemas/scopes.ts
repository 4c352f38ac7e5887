/** What a credential may be allowed beyond reading data. */
export const SCOPES = ['webhook.read', 'webhook.write', 'kyt.read', 'kyt.write'] as const

/** Name of a scope. */
export type Scope = (typeof SCOPES)[number]

/** True for the name of a scope. */
export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text)
