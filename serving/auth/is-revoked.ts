import type { Principal, RevokedCredential } from '../interfaces.ts'

/** True for a caller whose credential is one of those that can no longer be used. */
export const isRevoked = (
  { appId, credentialId, kind }: RevokedCredential,
  principal: Principal | null | undefined,
): boolean =>
  principal?.appId === appId &&
  (credentialId === undefined || principal.credentialId === credentialId) &&
  (kind === undefined || principal.kind === kind)
