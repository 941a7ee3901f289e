// Tests take fast-check from here: it draws the same examples in every run, so that what is green here is green everywhere
// and what is red stays red. OUBLIETTE_TEST_SEED=<whole number> draws others.
import fc from 'fast-check';

const seed = Number(process.env['OUBLIETTE_TEST_SEED'] ?? 1);
if (!Number.isInteger(seed)) throw new Error('OUBLIETTE_TEST_SEED must be a whole number');
fc.configureGlobal({ seed });

export default fc;
