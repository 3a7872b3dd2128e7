//! Models made of layers.

use super::super::promise::call;
use super::{Kind, Machine};
use plimsoll::capi::*;
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

/// The first of these functions, and how many they are.
pub const FIRST: usize = super::edge_list::FIRST + super::edge_list::COUNT;
pub const COUNT: usize = 27;

/// Concatenation doubles widths, which must stay small here.
const WIDEST: usize = 32;

impl Machine<'_> {
    /// The columns of each value of a model.
    pub fn value_widths(model: *const plim_model) -> Vec<usize> {
        let mut widths = vec![0; plim_model_num_values(model)];
        // SAFETY: an array of the length told.
        let _ = unsafe { plim_model_copy_value_widths(model, widths.as_mut_ptr(), widths.len()) };
        widths
    }

    /// The columns of a model's output; 0 if there is no such model.
    pub fn output_width(model: *const plim_model) -> usize {
        Self::value_widths(model).last().copied().unwrap_or(0)
    }

    /// Checks what getters say before and after a call: a failure leaves layers as they were, a success has the last value.
    fn appended(layers: *mut plim_layers, function: &str, work: impl FnOnce() -> plim_status) {
        let state = || (plim_layers_last(layers), plim_layers_width(layers), plim_layers_num_hops(layers));
        let before = state();
        let status = call(function, work);
        let after = state();
        match status {
            PLIM_OK => assert!(after.1 > 0 && after.2 >= before.2, "{function}: {before:?}, then {after:?}"),
            _ => assert_eq!(before, after, "{function}: {status}"),
        }
    }

    fn append(&mut self, layers: *mut plim_layers, which: usize) {
        let name = [
            "plim_layers_linear",
            "plim_layers_gcn",
            "plim_layers_sage",
            "plim_layers_gin",
            "plim_layers_aggregate",
            "plim_layers_propagate",
            "plim_layers_activation",
            "plim_layers_dropout",
            "plim_layers_norm",
            "plim_layers_at",
            "plim_layers_add",
            "plim_layers_concat",
            "plim_layers_max",
            "plim_layers_set_bias",
            "plim_layers_set_epsilon",
            "plim_layers_gat",
            "plim_layers_set_self_loops",
            "plim_layers_set_heads",
            "plim_layers_set_attention_dropout",
        ][which];
        let (width, rate) = (self.size(5), self.real());
        let last = plim_layers_last(layers);
        let value = self.size(last + 1);
        Self::appended(layers, name, || match which {
            0 => plim_layers_linear(layers, width),
            1 => plim_layers_gcn(layers, width),
            2 => plim_layers_sage(layers, width, self.constant(PLIM_AGGREGATOR_MIN)),
            3 => {
                let len = self.input.below(4);
                let widths: Vec<usize> = (0..len).map(|_| self.size(4)).collect();
                let widths = self.list(widths);
                // SAFETY: an array of the length told, or NULL.
                unsafe { plim_layers_gin(layers, widths.pointer, widths.len) }
            }
            4 => plim_layers_aggregate(layers, self.constant(PLIM_AGGREGATOR_MIN)),
            5 => plim_layers_propagate(layers, self.size(4), rate),
            6 => plim_layers_activation(layers, self.constant(PLIM_ACTIVATION_SIGMOID)),
            7 => plim_layers_dropout(layers, rate),
            8 => plim_layers_norm(layers, self.constant(PLIM_NORM_BATCH)),
            9 => plim_layers_at(layers, value),
            10 => plim_layers_add(layers, value),
            11 if plim_layers_width(layers) > WIDEST => PLIM_OK,
            11 => plim_layers_concat(layers, value),
            12 => plim_layers_max(layers, value),
            13 => plim_layers_set_bias(layers, self.constant(1)),
            14 => plim_layers_set_epsilon(layers, rate, self.constant(1)),
            15 => plim_layers_gat(layers, width, self.size(4), self.constant(2)),
            16 => plim_layers_set_self_loops(layers, self.constant(1)),
            17 => plim_layers_set_heads(layers, self.constant(PLIM_HEADS_MEAN)),
            _ => plim_layers_set_attention_dropout(layers, rate),
        });
    }

    fn model_new(&mut self, layers: *mut plim_layers) {
        let seed = self.input.word();
        // SAFETY: a place for a handle, or NULL.
        let status = self.make(Kind::Model, "plim_model_new", |out| unsafe { plim_model_new(layers, seed, out) });
        assert!(status != PLIM_OK || plim_layers_last(layers) > 0, "a model without operations");
    }

    /// A whole model of operations on two features, as graphs have by default.
    fn random_model(&mut self) {
        let mut layers = null_mut();
        // SAFETY: a place for a handle.
        assert_eq!(unsafe { plim_layers_new(2, &raw mut layers) }, PLIM_OK);
        self.keep(Kind::Layers, layers.addr());
        for _ in 0..1 + self.input.below(8) {
            let which = self.input.below(19);
            if which != 9 {
                self.append(layers, which);
            }
        }
        // A branch that is not joined would make no model.
        assert_eq!(plim_layers_linear(layers, 2 + self.input.below(2)), PLIM_OK);
        self.model_new(layers);
    }

    pub fn layers(&mut self, function: usize) {
        match function - FIRST {
            0 => {
                let width = self.size(4);
                // SAFETY: a place for a handle, or NULL.
                self.make(Kind::Layers, "plim_layers_new", |out| unsafe { plim_layers_new(width, out) });
            }
            1 => self.free_one(Kind::Layers),
            2 => {
                let layers = self.pick::<plim_layers>(Kind::Layers);
                let live = self.live.contains(&(Kind::Layers, layers.addr()));
                assert_eq!(plim_layers_width(layers) > 0, live, "{layers:?} is live: {live}");
                assert!(live || plim_layers_last(layers) + plim_layers_num_hops(layers) == 0);
            }
            which @ 3..=21 => {
                let layers = self.pick(Kind::Layers);
                self.append(layers, which - 3);
            }
            22 => {
                let layers = self.pick(Kind::Layers);
                self.model_new(layers);
            }
            23 => self.random_model(),
            24 => self.tensors(),
            25 => self.embed_value(),
            _ => {
                let estimator = self.pick::<plim_estimator>(Kind::Estimator);
                let model = self.pick::<plim_model>(Kind::Model);
                let live = self.live.contains(&(Kind::Model, model.addr()));
                let (property, of) = (plim_estimator_property(estimator), plim_estimator_property_of(estimator, model));
                assert!(of == 0 || live && of == property, "property {property}, of this model {of}");
            }
        }
    }

    fn tensors(&mut self) {
        let model = self.pick::<plim_model>(Kind::Model);
        let count = plim_model_num_tensors(model);
        let mut end = 0;
        for index in 0..=count {
            let (mut name, mut offset, mut rows, mut columns) = (null::<c_char>(), 0, 0, 0);
            // SAFETY: places for the results; the name lives as long as the model.
            let status = call("plim_model_tensor", || unsafe {
                plim_model_tensor(model, index, &raw mut name, &raw mut offset, &raw mut rows, &raw mut columns)
            });
            assert_eq!(status == PLIM_OK, index < count, "tensor {index} of {count}: {status}");
            if status == PLIM_OK {
                // SAFETY: as above.
                let name = unsafe { CStr::from_ptr(name) }.to_str().expect("a name is UTF-8");
                assert!(name.starts_with('v') && offset == end && rows * columns > 0, "{name} at {offset}");
                end += rows * columns;
            }
        }
        assert_eq!(end, plim_model_num_parameters(model));
    }

    fn embed_value(&mut self) {
        let (model, graph) = (self.pick(Kind::Model), self.pick(Kind::Graph));
        let n = plim_graph_num_nodes(graph);
        let nodes = self.nodes(n);
        let nodes = self.list_or_none(nodes);
        let widths = Self::value_widths(model);
        let value = self.size(widths.len());
        let rows = if nodes.pointer.is_null() { n } else { nodes.len };
        let mut room = self.room::<f32>(rows * widths.get(value).copied().unwrap_or(0));
        let (to, told) = (room.pointer(), room.told);
        // SAFETY: handles are checked by the library, arrays have the lengths told or are NULL.
        let status = call("plim_model_embed_value", || unsafe {
            plim_model_embed_value(model, graph, nodes.pointer, nodes.len, value, to, told)
        });
        room.check("plim_model_embed_value", status);
    }
}
