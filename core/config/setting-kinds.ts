import { Type } from 'typebox'
import type { Secret, SecretUrl } from './secret.ts'

/** A port; 0 = any free one, or one that follows from another. */
export const portSetting = (fallback: number, about: string) =>
  Type.Integer({ minimum: 0, maximum: 65_535, default: fallback, description: about })

/** A setting that no log may show. `X_FILE` names a file that holds it. */
export const secretSetting = (about: string) =>
  Type.Unsafe<Secret>(Type.String({ default: '', description: about, secret: 'text' }))

/** An address that may carry credentials: printed without them. */
export const secretUrlSetting = (pattern: string, about: string) =>
  Type.Unsafe<SecretUrl>(Type.String({ pattern, default: '', description: about, secret: 'url' }))
