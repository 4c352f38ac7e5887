import { CHAINS, SIMULATED_CHAINS } from '../../schemas/chains.ts'

/** Longest part of a wrong word that is shown. */
const MAX_SHOWN_LENGTH = 40

/** Says that a word is not the name of a chain, and which names there are. */
export const unknownChainText = (word: string): string =>
  `${word.slice(0, MAX_SHOWN_LENGTH)} is not a chain of this build; expected one of ${Object.values(
    CHAINS,
  )
    .map(({ apiName }) => apiName)
    .join(', ')}`

/** Says that a chain cannot be simulated, and which can. */
export const unsupportedSimulationText = (word: string): string =>
  `simulation is not supported for ${word} (supported: ${SIMULATED_CHAINS.map(({ apiName }) => apiName).join(', ')})`
