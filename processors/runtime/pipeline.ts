import type {
  FlushResult,
  Operation,
  OperationRecord,
  Publication,
  Stage,
  StageProcessor,
  StageState,
  StageTopic,
} from './stage.ts'

/** The part of a state whose keys start with a prefix, as a state of its own. */
export const prefixedState = (state: StageState, prefix: string): StageState => ({
  get: (key) => state.get(prefix + key),
  *entries(start) {
    for (const [key, value] of state.entries(prefix + start))
      yield [key.slice(prefix.length), value]
  },
})

type RecordsByTopic = Map<StageTopic, OperationRecord[]>

const addRecord = (records: RecordsByTopic, record: OperationRecord): void => {
  const list = records.get(record.topic)
  if (list === undefined) records.set(record.topic, [record])
  else list.push(record)
}

const toRecord = (publication: Publication, index: number): OperationRecord => ({
  ...publication,
  part: publication.value.meta?.part ?? index,
})

interface LoadedStage {
  readonly stage: Stage
  readonly folding: StageProcessor
}

const flushAll = (parts: readonly LoadedStage[]): FlushResult => {
  const flushed = parts.map(({ stage, folding }) => ({ app: stage.app, ...folding.flush() }))
  return {
    publications: flushed.flatMap(({ publications }) => publications),
    changes: flushed.flatMap(({ app, changes }) =>
      changes.map(([key, value]) => [`${app}/${key}`, value] as const),
    ),
  }
}

const stepAll = (
  parts: readonly LoadedStage[],
  { block, records }: Operation,
): readonly Publication[] => {
  const known: RecordsByTopic = new Map()
  for (const record of records) addRecord(known, record)
  return parts.flatMap(({ stage, folding }) => {
    const own = stage.inputs.flatMap((topic) => known.get(topic) ?? [])
    const published = folding.step({ block, records: own })
    for (const [index, publication] of published.entries())
      addRecord(known, toRecord(publication, index))
    return published
  })
}

/**
 * Stages of one lane as one stage: each sees the inputs from the log and what the stages before it published for the same
 * operation, and all of them are committed together. Throws for a stage that reads what only a later one publishes.
 */
export const pipeline = (app: string, stages: readonly Stage[]): Stage => {
  const made = new Set<StageTopic>()
  const inputs = new Set<StageTopic>()
  const outputs = new Set(stages.flatMap((stage) => stage.outputs))
  for (const stage of stages) {
    for (const topic of stage.inputs) {
      if (made.has(topic)) continue
      if (outputs.has(topic)) throw new Error(`${stage.app} reads ${topic} before it is made`)
      inputs.add(topic)
    }
    for (const topic of stage.outputs) made.add(topic)
  }
  return {
    app,
    inputs: [...inputs],
    outputs: [...outputs],
    load: (state, quoteAssets) => {
      const parts = stages.map((stage) => ({
        stage,
        folding: stage.load(prefixedState(state, `${stage.app}/`), quoteAssets),
      }))
      return { step: (operation) => stepAll(parts, operation), flush: () => flushAll(parts) }
    },
  }
}
