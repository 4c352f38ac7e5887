import { readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { InvalidInput } from '../../../core/errors.ts'
import { recordedBlock } from '../../../ingestors/recorded/files.ts'
import { CHAIN_ID_BY_NAME } from '../../../schemas/chains.ts'
import { mutateJson } from './random-values.ts'
import { FuzzFailure, type FuzzRunner, type FuzzSurface } from './surface.ts'

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url))
/** Larger recordings say the same and take longer. */
const MAX_RECORDING_BYTES = 200_000

interface Recording {
  readonly chain: string
  readonly name: string
  readonly json: unknown
}

const recordings = (): readonly Recording[] =>
  readdirSync(FIXTURES).flatMap((folder) => {
    const chain = CHAIN_ID_BY_NAME[folder]
    if (chain === undefined) return []
    const names = readdirSync(FIXTURES + folder).filter((name) => name.endsWith('.json'))
    return names.flatMap((file) => {
      const path = `${FIXTURES}${folder}/${file}`
      if (statSync(path).size > MAX_RECORDING_BYTES) return []
      return [{ chain, name: `${folder}/${file}`, json: JSON.parse(readFileSync(path, 'utf8')) }]
    })
  })

/** What nodes of every kind answered, with parts replaced: a block, or `InvalidInput`. */
export const nodeBlocks: FuzzSurface = {
  name: 'nodes-blocks',
  share: 3,
  needsTarget: false,
  open: async (): Promise<FuzzRunner> => {
    const known = recordings()
    return {
      run: async (random) => {
        const { chain, name, json } = random.pick(known)
        let bent = json
        for (let more = 1 + random.below(3); more > 0; more--) bent = mutateJson(bent, random)
        try {
          recordedBlock(chain, bent)
        } catch (error) {
          if (error instanceof InvalidInput) return
          throw new FuzzFailure(`${String(error).slice(0, 200)} in a bent ${name}`)
        }
      },
      close: async () => undefined,
    }
  },
}
