//! The tensors of a model: parameters, which stand one after the other in one flat array, and the state of norms.

use super::layers::{Layers, Norm, Op, Version};
use super::program::{Program, Request};
use crate::error::{Error, Result, try_reserve, try_with_capacity};
use crate::fork;
use crate::random::{Purpose, Stream};
use std::ffi::{CStr, CString};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Where a tensor's numbers start before training.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Start {
    /// Uniform in ± this.
    Uniform(f64),
    /// This number.
    Constant(f32),
}

/// A parameter of a model.
#[derive(Debug)]
pub struct Tensor {
    /// `v{value}.{name}`
    name: CString,
    /// Its first place in the flat parameters.
    pub offset: usize,
    /// Its rows; a vector has one.
    pub rows: usize,
    /// Its columns.
    pub columns: usize,
    /// Whether it is a matrix, even of one row.
    pub is_matrix: bool,
    start: Start,
}

impl Tensor {
    /// `v{value}.{name}`
    pub fn name(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }

    /// The name as a C string, which lives as long as the net.
    pub fn c_name(&self) -> &CStr {
        &self.name
    }

    /// Its place in the flat parameters.
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.rows * self.columns
    }
}

/// The layers of a model, complete and checked, with the places of their parameters.
pub struct Net {
    layers: Layers,
    tensors: Vec<Tensor>,
    /// The first tensor of each value.
    first: Vec<usize>,
    /// The place of the running statistics of each value that has them: means, then variances.
    state: Vec<Option<usize>>,
    num_parameters: usize,
    num_state: usize,
    id: u64,
    /// Programs made so far, the latest last.
    programs: Mutex<Vec<Arc<Program>>>,
}

impl Net {
    /// Checks that these layers make a model, and places their tensors.
    pub fn new(layers: Layers) -> Result<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        layers.check_complete()?;
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let count = layers.values().len();
        let mut net = Net {
            tensors: Vec::new(),
            first: try_with_capacity(count + 1)?,
            state: try_with_capacity(count)?,
            num_parameters: 0,
            num_state: 0,
            id,
            programs: Mutex::default(),
            layers,
        };
        for value in 0..count {
            net.first.push(net.tensors.len());
            net.place(value)?;
        }
        net.first.push(net.tensors.len());
        Ok(net)
    }

    fn place(&mut self, value: usize) -> Result<()> {
        let values = self.layers.values();
        let (fan_in, width, op) = (values[values[value].input].width, values[value].width, values[value].op.clone());
        let uniform = |fan_in: usize| Start::Uniform(1.0 / (fan_in as f64).sqrt());
        let glorot = Start::Uniform((6.0 / (fan_in + width) as f64).sqrt());
        let (zero, one) = (Start::Constant(0.0), Start::Constant(1.0));
        self.state.push(None);
        let mut add = |name: &str, shape: (usize, usize), is_matrix: bool, start: Start| {
            self.add(format!("v{value}.{name}"), shape, is_matrix, start)
        };
        match op {
            Op::Linear { bias } => {
                add("weight", (fan_in, width), true, uniform(fan_in))?;
                if bias {
                    add("bias", (1, width), false, uniform(fan_in))?;
                }
            }
            Op::Gcn { bias } => {
                add("lin.weight", (fan_in, width), true, glorot)?;
                if bias {
                    add("bias", (1, width), false, zero)?;
                }
            }
            Op::Sage { bias, .. } => {
                add("lin_l.weight", (fan_in, width), true, uniform(fan_in))?;
                if bias {
                    add("lin_l.bias", (1, width), false, uniform(fan_in))?;
                }
                add("lin_r.weight", (fan_in, width), true, uniform(fan_in))?;
            }
            Op::Gin { widths, epsilon, learned, bias } => {
                let mut fan_in = fan_in;
                for (i, &width) in widths.iter().enumerate() {
                    add(&format!("nn.{}.weight", 2 * i), (fan_in, width), true, uniform(fan_in))?;
                    if bias {
                        add(&format!("nn.{}.bias", 2 * i), (1, width), false, uniform(fan_in))?;
                    }
                    fan_in = width;
                }
                if learned {
                    add("eps", (1, 1), false, Start::Constant(epsilon as f32))?;
                }
            }
            Op::Gat { version, heads, width: of_head, bias, .. } => {
                let all = heads * of_head;
                let glorot = |rows: usize, columns: usize| Start::Uniform((6.0 / (rows + columns) as f64).sqrt());
                match version {
                    Version::First => {
                        add("lin.weight", (fan_in, all), true, glorot(fan_in, all))?;
                        add("att_src", (1, all), false, glorot(heads, of_head))?;
                        add("att_dst", (1, all), false, glorot(heads, of_head))?;
                    }
                    Version::Second => {
                        for side in ["lin_l", "lin_r"] {
                            add(&format!("{side}.weight"), (fan_in, all), true, glorot(fan_in, all))?;
                            if bias {
                                add(&format!("{side}.bias"), (1, all), false, uniform(fan_in))?;
                            }
                        }
                        add("att", (1, all), false, glorot(heads, of_head))?;
                    }
                }
                if bias {
                    add("bias", (1, width), false, zero)?;
                }
            }
            Op::Norm(norm) => {
                add("weight", (1, width), false, one)?;
                add("bias", (1, width), false, zero)?;
                if norm == Norm::Batch {
                    self.state[value] = Some(self.num_state);
                    self.num_state += 2 * width;
                }
            }
            Op::Features
            | Op::Aggregate { .. }
            | Op::Propagate { .. }
            | Op::Activation(_)
            | Op::Dropout { .. }
            | Op::Add { .. }
            | Op::Concat { .. }
            | Op::Max { .. } => {}
        }
        Ok(())
    }

    fn add(&mut self, name: String, (rows, columns): (usize, usize), is_matrix: bool, start: Start) -> Result<()> {
        const MOST: usize = isize::MAX as usize / 4;
        let count = rows.checked_mul(columns).and_then(|count| count.checked_add(self.num_parameters));
        let Some(count) = count.filter(|&count| count <= MOST) else {
            let text = format!("{name}: {rows} x {columns} numbers make more parameters than memory holds");
            return Err(Error::InvalidArgument(text));
        };
        let name = CString::new(name).map_err(|_| Error::Internal("a tensor's name holds a zero byte".to_string()))?;
        try_reserve(&mut self.tensors, 1, "tensors")?;
        self.tensors.push(Tensor { name, offset: self.num_parameters, rows, columns, is_matrix, start });
        self.num_parameters = count;
        Ok(())
    }

    /// A number that no other net has. Copies of a model share it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The operations.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Columns of the features that the model reads.
    pub fn input_width(&self) -> usize {
        self.layers.values()[0].width
    }

    /// Columns of the model's output.
    pub fn output_width(&self) -> usize {
        self.layers.width()
    }

    /// The program for a request, made on the first call.
    pub fn kept_program(&self, request: Request) -> Result<Arc<Program>> {
        const MOST_KEPT: usize = 16;
        let mut programs = fork::lock(&self.programs);
        if let Some(at) = programs.iter().position(|program| program.request == request) {
            // The latest stand last, and go last.
            programs[at..].rotate_left(1);
            return Ok(Arc::clone(&programs[programs.len() - 1]));
        }
        let program = Arc::new(self.program(request));
        if programs.len() == MOST_KEPT {
            programs.remove(0);
        }
        try_reserve(&mut programs, 1, "programs")?;
        programs.push(Arc::clone(&program));
        Ok(program)
    }

    /// All tensors, in the order of the flat parameters.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The tensors of one value.
    pub fn tensors_of(&self, value: usize) -> &[Tensor] {
        &self.tensors[self.first[value]..self.first[value + 1]]
    }

    /// Number of parameters.
    pub fn num_parameters(&self) -> usize {
        self.num_parameters
    }

    /// Numbers of the running statistics of all norms.
    pub fn num_state(&self) -> usize {
        self.num_state
    }

    /// Where the running means of a value begin in the state; its variances follow them.
    pub fn state_of(&self, value: usize) -> Option<usize> {
        self.state[value]
    }

    /// Whether this number of the state is a variance.
    pub fn is_variance(&self, at: usize) -> bool {
        let mut norms =
            self.state.iter().zip(self.layers.values()).filter_map(|(place, value)| Some(((*place)?, value.width)));
        norms.any(|(place, width)| (place + width..place + 2 * width).contains(&at))
    }

    /// Whether a norm takes statistics over rows.
    pub fn has_batch_norm(&self) -> bool {
        self.num_state > 0
    }

    /// The parameters before training, drawn by `seed`.
    pub fn starting_parameters(&self, seed: u64) -> Result<Vec<f32>> {
        let mut parameters = try_with_capacity(self.num_parameters)?;
        for (i, tensor) in self.tensors.iter().enumerate() {
            let len = tensor.rows * tensor.columns;
            match tensor.start {
                Start::Constant(value) => parameters.extend(std::iter::repeat_n(value, len)),
                Start::Uniform(limit) => {
                    let mut random = Stream::new(seed, Purpose::Parameters, 0, i as u64);
                    parameters.extend((0..len).map(|_| (limit * (2.0 * random.unit() - 1.0)) as f32));
                }
            }
        }
        Ok(parameters)
    }

    /// The state before training: means 0, variances 1.
    pub fn starting_state(&self) -> Result<Vec<f32>> {
        let mut state = try_with_capacity(self.num_state)?;
        for (value, place) in self.state.iter().enumerate() {
            if place.is_some() {
                let width = self.layers.values()[value].width;
                state.extend(std::iter::repeat_n(0.0, width));
                state.extend(std::iter::repeat_n(1.0, width));
            }
        }
        Ok(state)
    }
}
