import { CHAINS, type ChainId, type ChainRow } from '../../schemas/chains.ts'
import type { SecretUrl } from './secret.ts'
import { secretUrlSetting } from './setting-kinds.ts'

type FlashblocksChain = {
  [Id in ChainId]: (typeof CHAINS)[Id] extends { readonly preconfirmedStream: 'flashblocks' }
    ? Id
    : never
}[ChainId]
type FlashblocksSetting = `flashblocksUrl${Capitalize<FlashblocksChain>}`

const settingOf = (chain: string): string =>
  `flashblocksUrl${chain.charAt(0).toUpperCase()}${chain.slice(1)}`

const ROWS: readonly ChainRow[] = Object.values(CHAINS)

/** A setting for every chain with a stream of pre-confirmed blocks. */
export const FLASHBLOCKS_SETTINGS = Object.fromEntries(
  ROWS.filter(({ preconfirmedStream }) => preconfirmedStream === 'flashblocks').map(
    ({ id, name }) => [
      settingOf(id),
      secretUrlSetting(
        '^$|^wss?://',
        `Stream of pre-confirmed blocks (flashblocks) of ${name}; empty = not followed`,
      ),
    ],
  ),
) as Readonly<Record<FlashblocksSetting, ReturnType<typeof secretUrlSetting>>>

/** The part of a configuration that names the streams. */
export type FlashblocksConfig = Readonly<Record<FlashblocksSetting, SecretUrl>>

/** Where the pre-confirmed blocks of a chain are streamed from; '' = they are not followed. */
export const flashblocksUrl = (config: FlashblocksConfig, chain: string): string => {
  const urls: Readonly<Record<string, SecretUrl | undefined>> = config
  return urls[settingOf(chain)]?.reveal() ?? ''
}
