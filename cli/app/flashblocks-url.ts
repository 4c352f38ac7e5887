import type { Config } from '../../core/config/settings.ts'

/** Where the pre-confirmed blocks of a chain are streamed from; '' = they are not followed. */
export const flashblocksUrl = (
  { flashblocksUrlBase }: Pick<Config, 'flashblocksUrlBase'>,
  chain: string,
): string => (chain === 'base' ? flashblocksUrlBase.reveal() : '')
