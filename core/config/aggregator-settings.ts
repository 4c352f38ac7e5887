import { Type } from 'typebox'
import { secretSetting, secretUrlSetting } from './setting-kinds.ts'

/** An address whose path may hold a key; calls have a query of their own, and send no credentials. */
const ADDRESS = '^$|^https?://[^\\s?#@]+$'

/** Aggregators elsewhere that routes may be asked of; empty = not asked. */
export const AGGREGATOR_SETTINGS = {
  jupiterUrl: secretUrlSetting(
    ADDRESS,
    'Swap API of Jupiter for routes with dex=jupiter, such as https://lite-api.jup.ag/swap/v1; empty = the own router',
  ),
  jupiterApiKey: secretSetting('Key that is sent to JUPITER_URL; empty = none'),
  kyberswapUrl: secretUrlSetting(
    ADDRESS,
    'Aggregator API of KyberSwap for routes with dex=kyberswap, such as https://aggregator-api.kyberswap.com; empty = the own router',
  ),
  kyberswapClientId: Type.String({
    pattern: '^[\\w.-]{0,64}$',
    default: '',
    description: 'Name that is sent to KYBERSWAP_URL as x-client-id; empty = none',
  }),
}
