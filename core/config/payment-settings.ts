import { Type } from 'typebox'
import { PAYMENT_NETWORK_NAMES } from '../../schemas/payment-networks.ts'
import { PLANS_FOR_SALE } from '../../schemas/plans.ts'
import { secretSetting, secretUrlSetting } from './setting-kinds.ts'

const SOLANA_ADDRESS = '^$|^[1-9A-HJ-NP-Za-km-z]{32,44}$'

/** Settings of pay per call (x402). */
export const PAYMENT_SETTINGS = {
  x402PayTo: Type.String({
    pattern: '^$|^0x[0-9a-fA-F]{40}$',
    default: '',
    description:
      'Address that payments of single calls (x402) go to on networks of the EVM; with neither it nor X402_SOLANA_PAY_TO, calls need an account',
  }),
  x402Networks: Type.Array(Type.Enum([...PAYMENT_NETWORK_NAMES]), {
    default: [],
    description: `Networks that calls can be paid on: ${PAYMENT_NETWORK_NAMES.join(', ')}`,
  }),
  x402Facilitator: Type.Enum(['embedded', 'remote', 'mock'], {
    default: 'embedded',
    description:
      'Who settles payments: embedded = this process, with X402_GAS_KEY or X402_SOLANA_FEE_KEY and a node; remote = X402_FACILITATOR_URL; mock = payments are signed and never made, test networks only',
  }),
  x402FacilitatorUrl: secretUrlSetting(
    '^$|^https?://',
    'Base URL of a facilitator; required with X402_FACILITATOR=remote',
  ),
  x402GasKey: secretSetting(
    'Private key (0x and 64 hex digits) of the account that pays the gas of embedded settlements',
  ),
  x402RpcUrl: secretUrlSetting('^$|^https?://', 'Node of a payment network without RPC_URLS_'),
  x402SolanaPayTo: Type.String({
    pattern: SOLANA_ADDRESS,
    default: '',
    description:
      'Wallet that payments on Solana go to; it must have a token account for USDC. Empty = Solana is not offered',
  }),
  x402SolanaFeeKey: secretSetting(
    'Key of the account that signs last and pays the fees of embedded settlements on Solana: 64 bytes in base 58, or the list of numbers that solana-keygen writes',
  ),
  x402SolanaFeePayer: Type.String({
    pattern: SOLANA_ADDRESS,
    default: '',
    description:
      'Account of the facilitator that pays the fees on Solana; required with X402_FACILITATOR=remote or mock and a network of Solana',
  }),
  x402SolanaRpcUrl: secretUrlSetting(
    '^$|^https?://',
    'Node of Solana for payments, beside those of RPC_URLS_SOL; required for solana-devnet',
  ),
  x402SolanaMaxFee: Type.Integer({
    minimum: 10_001,
    maximum: 10_000_000,
    default: 15_000,
    description:
      'Most lamports that a payment on Solana may cost its fee payer: two signatures (10000) and what the payer sets for computation',
  }),
  x402SolanaFailedFees: Type.Integer({
    minimum: 10_001,
    maximum: 1_000_000_000,
    default: 1_000_000,
    description:
      'Lamports that payments on Solana which fail in their blocks may cost the fee payer in an hour; beyond, none is taken on Solana',
  }),
  x402SolanaMemo: Type.String({
    pattern: '^[ -~]{0,256}$',
    default: '',
    description:
      'Memo that payments on Solana must carry. Equal payments of one wallet within seconds are then one transaction, and the second is refused; empty = any memo',
  }),
  x402MinAtomic: Type.Integer({
    minimum: 1,
    maximum: 1_000_000_000,
    default: 1_000,
    description: 'Least price of a paid call in base units of the token (1000 = $0.001)',
  }),
  x402AtomicPerCu: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 10,
    description: 'Price of a compute unit in base units of the token (10 = $10 per million)',
  }),
  x402Plans: Type.Array(
    Type.String({ pattern: `^(${PLANS_FOR_SALE.join('|')}):(?=.*[1-9])\\d{1,6}(\\.\\d{1,2})?$` }),
    {
      default: [],
      description: `Plans that wallets can buy for 30 days, with their price in dollars: nano:5,starter:199; of ${PLANS_FOR_SALE.join(', ')}; empty = none`,
    },
  ),
  x402Status: Type.Boolean({
    default: true,
    description: 'Whether everybody may ask for the bought plan of a wallet (GET /x402/status)',
  }),
}
