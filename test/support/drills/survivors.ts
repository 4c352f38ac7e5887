/** Mutants of one file that no test notices, and why each of them may stay: it changes nothing that can be seen. */
export type KnownSurvivors = Readonly<
  Record<string, { readonly survivors: number; readonly because: readonly string[] }>
>

/** What is read of a report of Stryker. */
export interface MutationReport {
  readonly files: Readonly<
    Record<string, { readonly mutants: readonly { readonly status: string }[] }>
  >
}

/** One line for each file of which more mutants survive than are known; one that no test runs survives, too. */
export const exceededSurvivors = (
  { files }: MutationReport,
  known: KnownSurvivors,
): readonly string[] =>
  Object.entries(files).flatMap(([path, { mutants }]) => {
    const found = mutants.filter(
      ({ status }) => status === 'Survived' || status === 'NoCoverage',
    ).length
    const allowed = known[path]?.survivors ?? 0
    return found > allowed ? [`${path}: ${found} mutants survive, ${allowed} are known`] : []
  })
